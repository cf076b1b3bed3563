# The image in which the action runs: python:3.13-slim, the locked dependencies, this package, and
# bytecode for all three.
#
# The base is Python 3.13.16 on Debian 13, for every platform, named by its digest. The digest
# stands in the FROM line and not in an ARG because Dependabot renews it only there.
# To build on another base: `podman build --from IMAGE .`, as scripts/container.sh does.
FROM docker.io/library/python:3.13-slim@sha256:70729b46c69b4f1e97c4822c1af3df53a1476cf5ddc6c087c0c10bc3a5678c2f AS python

FROM python AS build
# The base's pip fills an environment that has none itself. Only wheels: no compiler is needed, and
# no package's own installation code runs. What our dependencies use only where it is there, and
# only for what the action never does, is nearly a third of their weight: cryptography signs as a
# GitHub App (PyJWT), pygments colours source code (rich).
COPY requirements/runtime.txt /source/
RUN python -m venv --without-pip /opt/skill-delta \
 && python -m pip --python /opt/skill-delta/bin/python install \
      --disable-pip-version-check --root-user-action ignore --no-cache-dir --no-compile \
      --only-binary :all: --require-hashes --requirement /source/runtime.txt \
 && python -m pip --python /opt/skill-delta/bin/python uninstall \
      --disable-pip-version-check --root-user-action ignore --yes cryptography pygments
COPY src/skill_delta /source/skill_delta
# Bytecode is bound to its source by nothing: inside an image neither changes, and the times of
# files depend on who copied them.
RUN packages="$(/opt/skill-delta/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
 && cp -r /source/skill_delta "$packages" \
 && python -m compileall -q -j 0 --invalidation-mode unchecked-hash "$packages"

FROM python
# The base comes without bytecode. Its own pip, in site-packages, is never imported again.
RUN library="$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" \
 && python -m compileall -q -j 0 --invalidation-mode unchecked-hash -x /site-packages/ "$library"
COPY --from=build /opt/skill-delta /opt/skill-delta
# For the processes that the action starts. Its own interpreter is told by -B, since -I makes it
# deaf to these variables.
ENV PYTHONDONTWRITEBYTECODE=1
# As the first process of a container, Python would not hear SIGTERM. This it hears, as Ctrl-C.
STOPSIGNAL SIGINT
# The working folder is the checkout of a pull request and the variables are the workflow's: -I
# keeps both, and the home folder, off the import path, and the absolute path keeps PATH out of it.
# Exec form, because a shell would drop the inputs whose names have a hyphen.
ENTRYPOINT ["/opt/skill-delta/bin/python", "-I", "-B", "-u", "-m", "skill_delta.action"]
