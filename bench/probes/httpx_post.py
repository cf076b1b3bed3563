"""The least that asks a model once with httpx: `httpx_post.py URL`."""

import sys

import httpx

answer = httpx.post(
    f"{sys.argv[1]}/chat/completions",
    json={"model": "bench", "messages": [{"role": "user", "content": "Say hello to Ada."}]},
)
print(answer.json()["choices"][0]["message"]["content"])
