#!/usr/bin/env bash
# Build the action's image and run it as GitHub would, on a machine that has neither a Docker engine
# nor an image registry within reach. `make container` calls this; no argument is needed.
#
# Instead of the Python image that the Dockerfile names by its digest, it builds on a stand-in: a
# minimal Debian of the same release with Debian's own Python 3.13, without bytecode. There Python
# lives in /usr and not in /usr/local, so a green run here says nothing about the digest, and image
# sizes differ. GitHub builds on the real one in .github/workflows/skill-delta.yml.
#
# Needs root and apt: it installs podman, runc and mmdebstrap where they are missing. Where that is
# not so, or where no container can be started, it says what it skipped and ends with 0. Everything
# else that goes wrong ends it with an error.
#
#   SKILL_DELTA_CONTAINERS  the folder with the stand-in, the images and the settings of podman,
#                           kept for the next run [a folder in the user's cache]. Remove it to
#                           begin anew.
#   SKILL_DELTA_BASE        an image to build on instead of the stand-in.
set -euo pipefail
cd "$(dirname "$0")/.."

cache=${SKILL_DELTA_CONTAINERS:-${XDG_CACHE_HOME:-$HOME/.cache}/skill-delta/containers}
stand_in=localhost/python:3.13-slim
base=${SKILL_DELTA_BASE:-$stand_in}
image=localhost/skill-delta:dev
python=(/opt/skill-delta/bin/python -I -B -u)

say() { printf '[%3ds] %s\n' "$SECONDS" "$*"; }
fail() { printf 'error: %s\n' "$*" >&2 && exit 1; }
skip_all() { printf 'SKIPPED the container checks: %s\n' "$*" && exit 0; }

main() {
  install_tools
  configure_podman
  make_base
  build_image
  check_bytecode
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  make_checkout
  check_import_path
  check_run "as GitHub runs it"
  check_run "confined" --read-only --cap-drop ALL --security-opt no-new-privileges --tmpfs /tmp
  chown -R 1001:1001 "$scratch/workspace"
  check_run "in a checkout of another user"
  podman image prune --force --filter until=24h >/dev/null
  say "the image was built and run: all is well"
}

install_tools() {
  local tool missing=()
  for tool in podman runc mmdebstrap git; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  ((${#missing[@]})) || return 0
  ((EUID == 0)) || skip_all "not root, and not installed: ${missing[*]}"
  command -v apt-get >/dev/null || skip_all "no apt-get to install ${missing[*]} with"
  say "installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
    buildah netavark "${missing[@]}" >/dev/null
}

# Podman with settings of its own, so that it works inside a container too: no ulimits, network
# namespaces, cgroup manager or journal that an outer container would refuse.
configure_podman() {
  mkdir -p "$cache"
  cat >"$cache/storage.conf" <<CONF
[storage]
driver = "overlay"
graphroot = "$cache/storage"
runroot = "$cache/run"
CONF
  cat >"$cache/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
netns = "host"
log_driver = "k8s-file"
[network]
network_backend = "netavark"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
CONF
  export CONTAINERS_CONF="$cache/containers.conf"
  export CONTAINERS_STORAGE_CONF="$cache/storage.conf"
  export BUILDAH_ISOLATION=chroot
}

make_base() {
  if [[ $base == "$stand_in" ]] && ! podman image exists "$base"; then
    make_stand_in
  fi
  local refusal
  refusal=$(podman run --rm --network none "$base" python3 -c pass 2>&1) ||
    skip_all "no container can be started here: $refusal"
}

make_stand_in() {
  local unwanted
  local options=(--quiet --variant=essential --aptopt='Acquire::Retries "3"')
  for unwanted in doc man locale; do
    options+=(--dpkgopt="path-exclude=/usr/share/$unwanted/*")
  done
  # shellcheck disable=SC2016  # "$1" is the new root, which mmdebstrap's own shell fills in
  options+=(--customize-hook='
    ln -s /usr/bin/python3 "$1/usr/local/bin/python"
    ln -s /usr/bin/python3 "$1/usr/local/bin/python3"
    rm -f "$1"/usr/lib/python3.*/EXTERNALLY-MANAGED
    find "$1/usr/lib" -name __pycache__ -prune -exec rm -rf {} +')
  mmdebstrap "${options[@]}" --include=python3,python3-pip,ca-certificates,adduser \
    trixie "$cache/base.tar"
  podman import --quiet --change 'CMD ["python3"]' "$cache/base.tar" "$stand_in" >/dev/null
  rm "$cache/base.tar"
  say "made the stand-in for the Python image"
}

build_image() {
  local file options=(--pull=never --network host --from "$base" --tag "$image")
  # Where this machine's pip needs a setting or a certificate, the build's pip needs it too.
  for file in /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
    [[ ! -f $file ]] || options+=(--volume "$file:$file:ro")
  done
  [[ $base == "$stand_in" ]] || options+=(--pull=missing)
  podman build "${options[@]}" . >"$cache/build.log" 2>&1 ||
    { tail -n 40 "$cache/build.log" >&2 && fail "the image cannot be built (all of it: $cache/build.log)"; }
  say "built $image: $(megabytes "$image") MB, of which the base $(megabytes "$base") MB"
}

megabytes() { echo "$(($(podman image inspect --format '{{.Size}}' "$1") / 1000000))"; }

# Without bytecode every start would compile all that it imports, and throw the result away.
check_bytecode() {
  podman run --rm --interactive --network none --entrypoint "" "$image" "${python[@]}" - <<'PYTHON'
import importlib.util, pathlib, sys, sysconfig

sources = [
    source
    for folder in {sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")}
    for source in pathlib.Path(folder).rglob("*.py")
    if "site-packages" not in source.relative_to(folder).parts
]
bare = [s for s in sources if not pathlib.Path(importlib.util.cache_from_source(s)).is_file()]
sys.exit("\n".join(["error: without bytecode:", *map(str, bare)]) if bare else 0)
PYTHON
  say "every module has its bytecode"
}

# A repository as GitHub checks it out, in which a merge queue's commit makes the skill better. It
# also holds what an attacker would put there: modules with the names of ours and of what we import.
make_checkout() {
  mkdir "$scratch"/{workspace,workflow,commands,home}
  local git=(git -C "$scratch/workspace" -c user.name=octocat -c user.email=octocat@example.org)
  "${git[@]}" init --quiet --initial-branch main
  mkdir "$scratch/workspace/skills" "$scratch/workspace/skill_delta"
  cp -r examples/greeting "$scratch/workspace/skills"
  local name
  for name in skill_delta/__init__ json httpx sitecustomize; do
    echo 'raise SystemExit("hijacked: this came from the checkout")' \
      >"$scratch/workspace/$name.py"
  done
  sed -i 's/^version: .*/version: 1.0.0/; /exclamation/d' "$scratch/workspace/skills/greeting/SKILL.md"
  "${git[@]}" add --all
  "${git[@]}" commit --quiet --message 'The skill as it was'
  cp examples/greeting/SKILL.md "$scratch/workspace/skills/greeting"
  "${git[@]}" commit --quiet --all --message 'The skill as edited'
  head=$("${git[@]}" rev-parse HEAD)
  printf '{"merge_group": {"base_sha": "%s", "head_sha": "%s", "base_ref": "refs/heads/main"}}' \
    "$("${git[@]}" rev-parse HEAD~)" "$head" >"$scratch/workflow/event.json"
}

# Nothing of the checkout can be imported, whatever the workflow's variables say.
check_import_path() {
  [[ $(contained --env PYTHONPATH=/github/workspace --env PATH=/github/workspace \
    --entrypoint "" "$image" "${python[@]}" -m skill_delta --version) == skill-delta* ]] ||
    fail "a module of the checkout was imported"
  say "nothing of the checkout is imported"
}

# check_run TITLE [PODMAN-OPTION...]: the action's own entry point, with GitHub's mounts and variables.
check_run() {
  local title=$1 code=0
  shift
  : >"$scratch/commands/output" && : >"$scratch/commands/summary"
  contained "$@" \
    --env INPUT_RUNNER=scripted --env INPUT_SKILLS=skills --env INPUT_MIN-DELTA=0 \
    --env INPUT_GITHUB-TOKEN= "$image" >"$scratch/log" 2>&1 || code=$?
  [[ $code == 0 ]] || { cat "$scratch/log" >&2 && fail "run $title, the action ended with $code"; }
  grep -q '^verdict=' "$scratch/commands/output" || fail "run $title, it wrote no outputs"
  [[ -s $scratch/commands/summary ]] || fail "run $title, it wrote no summary"
  check_workspace "$title"
  say "ran $title: $(grep '^verdict=' "$scratch/commands/output")"
}

check_workspace() {
  local left
  left=$(git -c safe.directory='*' -C "$scratch/workspace" status --porcelain --ignored |
    grep -v '^!! .skill-delta/$' || true)
  [[ -z $left ]] || fail "run $1, the action left in the workspace: $left"
  rm -rf "$scratch/workspace/.skill-delta"
}

# contained PODMAN-OPTION... IMAGE [ARGUMENT...]: in the folders and variables of a workflow's job.
contained() {
  podman run --rm --network none --workdir /github/workspace \
    --volume "$scratch/workspace:/github/workspace" --volume "$scratch/workflow:/github/workflow" \
    --volume "$scratch/commands:/github/file_commands" --volume "$scratch/home:/github/home" \
    --env HOME=/github/home --env CI=true --env GITHUB_ACTIONS=true \
    --env GITHUB_WORKSPACE=/github/workspace --env GITHUB_EVENT_NAME=merge_group \
    --env GITHUB_EVENT_PATH=/github/workflow/event.json \
    --env GITHUB_OUTPUT=/github/file_commands/output \
    --env GITHUB_STEP_SUMMARY=/github/file_commands/summary \
    --env GITHUB_REPOSITORY=octo/demo --env GITHUB_ACTOR=octocat --env GITHUB_SHA="$head" \
    --env GITHUB_REF=refs/heads/gh-readonly-queue/main/pr-1 --env GITHUB_RUN_ID=1 \
    --env GITHUB_RUN_ATTEMPT=1 --env GITHUB_SERVER_URL=https://github.com \
    --env GITHUB_API_URL=https://api.github.com \
    --env GITHUB_GRAPHQL_URL=https://api.github.com/graphql "$@"
}

main
