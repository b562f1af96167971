"""serve_oracle.py URL URL_OF_EMBEDDER ITS_FOLDER: asks `mica serve` by the packages openai and httpx.

They check the form of answers. The embedder's are compared with the vectors in its folder."""
import array
import sys
import threading

import httpx
import openai
from pydantic import BaseModel

base = sys.argv[1]
client = openai.OpenAI(base_url=base + "/v1", api_key="none", max_retries=0)
model = client.models.list().data[0].id
assert client.models.retrieve(model).id == model
messages = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "hi"}]


class Person(BaseModel):
    name: str
    age: int


def chat(**more):
    return client.chat.completions.create(model=model, messages=messages, **{"max_tokens": 20, "seed": 1, **more})


whole = chat()
assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
assert whole.choices[0].message.role == "assistant"

text, usage, finish = "", None, None
for chunk in chat(stream=True, stream_options={"include_usage": True}):
    usage = chunk.usage or usage
    for choice in chunk.choices:
        text += choice.delta.content or ""
        finish = choice.finish_reason or finish
assert text == whole.choices[0].message.content, (text, whole)
assert finish == whole.choices[0].finish_reason and usage == whole.usage

# Log probabilities: one per token, the bytes of the tokens are the text.
told = chat(logprobs=True).choices[0].logprobs.content
assert len(told) == whole.usage.completion_tokens and all(token.logprob <= 0 for token in told)
for token in chat(logprobs=True, top_logprobs=4).choices[0].logprobs.content:
    likely = [one.logprob for one in token.top_logprobs]
    assert len(likely) == 4 and likely == sorted(likely, reverse=True) and likely[0] >= token.logprob - 1e-6
tops = client.completions.create(model=model, prompt="hi", max_tokens=4, seed=3, logprobs=2).choices[0].logprobs
assert len(tops.top_logprobs) == len(tops.tokens) and all(0 < len(one) <= 2 for one in tops.top_logprobs)
texts = client.completions.create(model=model, prompt=["hi", "abc"], n=2, max_tokens=4, seed=3, logprobs=0)
assert [choice.index for choice in texts.choices] == [0, 1, 2, 3]
assert len(texts.choices[3].logprobs.token_logprobs) == len(texts.choices[3].logprobs.tokens)

# A model of random weights writes numbers and texts without end, if it may.
schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}, "age": {"type": "integer",
          "minimum": 0, "maximum": 99}}, "required": ["name", "age"], "additionalProperties": False}
answer = chat(max_tokens=200, response_format={"type": "json_schema", "json_schema": {"name": "p", "schema": schema}})
assert 0 <= Person.model_validate_json(answer.choices[0].message.content).age <= 99
tool = {"type": "function", "function": {"name": "save", "parameters": schema}}
call = chat(max_tokens=200, tools=[tool], tool_choice={"type": "function", "function": {"name": "save"}})
assert call.choices[0].finish_reason == "tool_calls"
assert call.choices[0].message.tool_calls[0].function.name == "save"
Person.model_validate_json(call.choices[0].message.tool_calls[0].function.arguments)
arguments = ""
for chunk in chat(max_tokens=200, tools=[tool], tool_choice="required", stream=True):
    for part in chunk.choices[0].delta.tool_calls or []:
        arguments += part.function.arguments
Person.model_validate_json(arguments)

# The model chooses: a schema makes its text a call.
wanted = {"type": "object", "properties": {"name": {"const": "save"}, "arguments": schema},
          "required": ["name", "arguments"], "additionalProperties": False}
by_schema = {"type": "json_schema", "json_schema": {"name": "c", "schema": wanted}}
chosen = chat(max_tokens=300, tools=[tool], tool_choice="auto", response_format=by_schema).choices[0]
assert chosen.finish_reason == "tool_calls" and not chosen.message.content
Person.model_validate_json(chosen.message.tool_calls[0].function.arguments)
arguments, name = "", ""
for chunk in chat(max_tokens=300, tools=[tool], stream=True, response_format=by_schema):
    for part in chunk.choices[0].delta.tool_calls or []:
        name += part.function.name or ""
        arguments += part.function.arguments
assert name == "save" and arguments == chosen.message.tool_calls[0].function.arguments
other = {"type": "function", "function": {"name": "load", "parameters": schema}}
either = chat(max_tokens=300, tools=[tool, other], tool_choice="required").choices[0].message.tool_calls[0]
assert either.function.name in ("save", "load")
Person.model_validate_json(either.function.arguments)

for kind, wrong in [
    (openai.NotFoundError, lambda: client.chat.completions.create(model="none", messages=messages)),
    (openai.BadRequestError, lambda: chat(temperature=-1)),
    (openai.BadRequestError, lambda: chat(max_tokens=0)),
    (openai.InternalServerError, lambda: client.embeddings.create(model=model, input="x")),
    (openai.NotFoundError, lambda: client.models.retrieve("none")),
]:
    try:
        wrong()
    except kind:
        continue
    raise AssertionError(kind)

# Each of eight clients gets what it gets alone.
beside = {}


def ask(seed):
    beside[seed] = chat(seed=seed, max_tokens=60).choices[0].message.content


threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for seed in range(8):
    assert chat(seed=seed, max_tokens=60).choices[0].message.content == beside[seed], seed

# Vectors: those that sentence-transformers wrote; the client asks for base64 unless it is told otherwise.
embedder = openai.OpenAI(base_url=sys.argv[2] + "/v1", api_key="none", max_retries=0)
with open(sys.argv[3] + "/texts.txt", encoding="utf-8") as file:
    lines = [line.rstrip("\n") for line in file]
expected = array.array("f")
with open(sys.argv[3] + "/vectors.f32", "rb") as file:
    expected.frombytes(file.read())
kept = [i for i, line in enumerate(lines) if line]
for encoding in (openai.NOT_GIVEN, "float"):
    made = embedder.embeddings.create(model="embed", input=[lines[i] for i in kept], encoding_format=encoding,
                                      extra_body={"truncate": True})
    assert [one.index for one in made.data] == list(range(len(kept))) and made.usage.prompt_tokens > len(kept)
    for i, one in zip(kept, made.data):
        assert len(one.embedding) == 16
        assert all(abs(a - b) < 1e-5 for a, b in zip(one.embedding, expected[16 * i : 16 * i + 16])), (encoding, i)
single = embedder.embeddings.create(model="embed", input=lines[0]).data[0].embedding
assert all(abs(a - b) < 1e-5 for a, b in zip(single, expected[:16]))
for wrong in ({"input": []}, {"input": ""}, {"input": [1, 2]}, {"input": "a", "dimensions": 3}):
    try:
        embedder.embeddings.create(model="embed", **wrong)
    except openai.BadRequestError:
        continue
    raise AssertionError(wrong)

with httpx.Client(base_url=base) as http:
    for _ in range(3):
        assert http.get("/health").json() == {"status": "ok"}
    assert http.head("/v1/models").headers["content-type"] == "application/json"
    assert http.head("/v1/completions").status_code == 405
    assert http.post("/v1/completions", content=iter([b'{"prompt":', b'"hi","max_tokens":2}'])).status_code == 200
print("ok")
