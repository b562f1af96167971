"""chat_oracle.py LIBRARY PATH...: applies chat templates to conversations by Mica and by transformers, and compares the
texts, or that both refuse. A path is a template, a folder of *.jinja, or a list of cases (*.json), whose texts are
compared with what transformers gives. Prints a row per template, and what differs."""
import ctypes
import hashlib
import json
import os
import sys

from transformers.utils.chat_template_utils import render_jinja_template


class Variable(ctypes.Structure):
    _fields_ = [('name', ctypes.c_char_p), ('text', ctypes.c_char_p), ('json', ctypes.c_char_p)]


class Options(ctypes.Structure):
    _fields_ = [('count', ctypes.c_size_t), ('tools', ctypes.c_char_p), ('documents', ctypes.c_char_p),
                ('add_generation_prompt', ctypes.c_bool), ('variables', ctypes.POINTER(Variable)),
                ('variable_count', ctypes.c_size_t), ('time', ctypes.c_int64)]


class Mica:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.c.mica_error_message.restype = ctypes.c_char_p

    def fail(self):
        raise ValueError(self.c.mica_error_message().decode())

    def render(self, source, messages, tools=None, documents=None, add_generation_prompt=False, **names):
        template, chat, text = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        size = ctypes.c_size_t()
        data = source.encode()
        if self.c.mica_chat_template_create(b'template', data, ctypes.c_size_t(len(data)), ctypes.byref(template)):
            self.fail()
        try:
            self.c.mica_messages_create(ctypes.byref(chat))
            data = json.dumps(messages).encode()
            if self.c.mica_messages_add_json(chat, data, ctypes.c_size_t(len(data))):
                self.fail()
            variables = (Variable * len(names))(*[Variable(k.encode(), None, json.dumps(v).encode())
                                                  for k, v in names.items()])
            options = Options(0, tools and json.dumps(tools).encode(), documents and json.dumps(documents).encode(),
                              add_generation_prompt, variables, len(names), 0)
            if self.c.mica_chat_template_apply(template, chat, ctypes.byref(options), ctypes.byref(text),
                                               ctypes.byref(size)):
                self.fail()
            result = ctypes.string_at(text, size.value).decode()
            self.c.mica_free(text)
            return result
        finally:
            self.c.mica_messages_destroy(chat)
            self.c.mica_chat_template_destroy(template)


def user(text):
    return {'role': 'user', 'content': text}


def answer(text, **more):
    return {'role': 'assistant', 'content': text, **more}


weather = {'type': 'function', 'function': {
    'name': 'get_weather', 'description': 'The weather of a city, "now" & <later>',
    'parameters': {'type': 'object', 'properties': {
        'city': {'type': 'string', 'description': 'Name\nof the city'},
        'days': {'type': 'integer', 'default': 3, 'enum': [1, 3, 7]},
        'exact': {'type': 'boolean', 'default': False},
        'places': {'type': 'array', 'items': {'type': 'number'}}}, 'required': ['city']}}}
clock = {'type': 'function', 'function': {'name': 'clock', 'description': 'Tells the time',
                                          'parameters': {'type': 'object', 'properties': {}}}}


def call(name, arguments, number='call00001'):
    return {'id': number, 'type': 'function', 'function': {'name': name, 'arguments': arguments}}


system = {'role': 'system', 'content': 'You are terse.\n'}
calls = [call('get_weather', {'city': 'Zürich', 'days': 3, 'exact': True})]
result = {'role': 'tool', 'name': 'get_weather', 'tool_call_id': 'call00001', 'content': '{"degrees": 21.5}'}
conversations = {
    'one': dict(messages=[user('Who are you?')]),
    'prompt': dict(messages=[user('Who are you?')], add_generation_prompt=True),
    'system': dict(messages=[system, user('  Who?  '), answer(' I. '), user('"Really"? <b>\\n</b> 日本 😀')],
                   add_generation_prompt=True),
    'answered': dict(messages=[user('1 + 1?'), answer('2'), user('+ 1?'), answer('3')]),
    'tools': dict(messages=[system, user('Weather?')], tools=[weather, clock], add_generation_prompt=True),
    'call': dict(messages=[user('Weather?'), answer('', tool_calls=calls), result], tools=[weather],
                 add_generation_prompt=True),
    'texts of calls': dict(messages=[user('Weather?'), answer(None, tool_calls=[call('clock', '{}')]),
                                     {**result, 'name': 'clock', 'content': 'noon'}, answer('Noon.'), user('Thanks')],
                           tools=[clock], add_generation_prompt=True),
    'thinking': dict(messages=[user('Why?'), answer('<think>\nHm.\n</think>\n\nSo.'), user('Why not?'),
                               answer('Ah.', reasoning_content='Hm, hm.'), user('?')], add_generation_prompt=True),
    'no thinking': dict(messages=[user('Why?')], add_generation_prompt=True, enable_thinking=False),
    'parts': dict(messages=[{'role': 'user', 'content': [{'type': 'text', 'text': 'What is '},
                                                         {'type': 'text', 'text': 'this?'}]}],
                  add_generation_prompt=True),
    'wrong order': dict(messages=[answer('First!'), answer('Second!')]),
    'documents': dict(messages=[system, user('Which?')], add_generation_prompt=True,
                      documents=[{'title': 'A', 'text': 'about a', 'doc_id': 1}, {'title': 'B', 'text': 'about b'}]),
    'empty': dict(messages=[], add_generation_prompt=True),
    'two calls': dict(messages=[system, user('Both?'),
                                answer('Let me see.', tool_calls=[*calls, call('clock', {}, 'call00002')]), result,
                                {**result, 'name': 'clock', 'tool_call_id': 'call00002', 'content': 'noon'},
                                answer('21.5, noon'), user('Thanks!'), answer('Welcome')], tools=[weather, clock]),
}
# Templates that transformers itself cannot run, by SHA-256.
refused_alone = {'0d11fd8d7cf3f212733d73dfe09ead89a14a18816661dc30ea1fb3147428fba1':
                 'which writes a generator as JSON'}
names = dict(bos_token='<s>', eos_token='</s>', unk_token='<unk>', pad_token='<pad>')


def templates(paths):
    for path in paths:
        files = [os.path.join(path, f) for f in sorted(os.listdir(path))] if os.path.isdir(path) else [path]
        for file in files:
            if file.endswith('.jinja'):
                with open(file, encoding='utf-8', newline='') as f:
                    yield os.path.basename(file), f.read()


def transform(source, messages, **options):
    return render_jinja_template([messages], chat_template=source, **options)[0][0]


def attempt(function):
    try:
        return function(), None
    except Exception as error:  # what a template raises may be of any kind
        return None, f'{type(error).__name__}: {error}'


def main():
    mica = Mica(sys.argv[1])
    same = wrong = refused = 0
    for path in sys.argv[2:]:
        if path.endswith('.json'):
            with open(path, encoding='utf-8') as file:
                cases = json.load(file)
            for case in cases:
                theirs, fault = attempt(lambda: transform(case['template'], case['messages'], **case['options']))
                same += theirs == case['text']
                if theirs != case['text']:
                    wrong += 1
                    print(f"{case['name']}: {case['text']!r}\n  transformers: {fault or theirs!r}")
            print(f'{path}: {len(cases)} cases')
    for name, source in templates(sys.argv[2:]):
        if hashlib.sha256(source.encode()).hexdigest() in refused_alone:
            print(f'{name}: left out, {refused_alone[hashlib.sha256(source.encode()).hexdigest()]}')
            continue
        faults = []
        for title, conversation in conversations.items():
            options = {**names, **conversation}
            messages = options.pop('messages')
            mine, my_fault = attempt(lambda: mica.render(source, messages, **options))
            theirs, their_fault = attempt(lambda: transform(source, messages, **options))
            if mine == theirs:
                same += 1
                refused += mine is None
            else:
                wrong += 1
                faults += [f'  {title}:', f'    mica         {my_fault or mine!r}',
                           f'    transformers {their_fault or theirs!r}']
        print(f'{name}: {len(conversations) - len(faults) // 3} of {len(conversations)}')
        print('\n'.join(faults)) if faults else None
    print(f'{same} alike, of which both refuse {refused}; {wrong} not')
    sys.exit(1 if wrong or not same else 0)


main()
