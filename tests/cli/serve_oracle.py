"""serve_oracle.py URL: asks `mica serve` by the packages openai and httpx, which check the form of answers."""
import sys
import threading

import httpx
import openai
from pydantic import BaseModel

base = sys.argv[1]
client = openai.OpenAI(base_url=base + "/v1", api_key="none", max_retries=0)
model = client.models.list().data[0].id
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

for kind, wrong in [
    (openai.NotFoundError, lambda: client.chat.completions.create(model="none", messages=messages)),
    (openai.BadRequestError, lambda: chat(temperature=-1)),
    (openai.BadRequestError, lambda: chat(max_tokens=0)),
    (openai.InternalServerError, lambda: client.embeddings.create(model=model, input="x")),
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

with httpx.Client(base_url=base) as http:
    for _ in range(3):
        assert http.get("/health").json() == {"status": "ok"}
    assert http.head("/v1/models").headers["content-type"] == "application/json"
    assert http.head("/v1/completions").status_code == 405
    assert http.post("/v1/completions", content=iter([b'{"prompt":', b'"hi","max_tokens":2}'])).status_code == 200
print("ok")
