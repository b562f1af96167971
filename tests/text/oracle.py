"""oracle.py KIND FOLDER: trains with `tokenizers` on FOLDER/lines.txt and compares with what Mica made of it:
FOLDER/KIND.json, the ids of each line in FOLDER/ids, and the texts that came of these in FOLDER/back."""
import json
import sys

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

kind, folder = sys.argv[1:]


def lines(name):
    with open(f'{folder}/{name}', encoding='utf-8', newline='\n') as file:
        return file.read().split('\n')[:-1]


texts = lines('lines.txt')
common = dict(vocab_size=2000, min_frequency=2, show_progress=False)
plain, bert = ['<unk>', '<pad>', '<s>', '</s>'], ['[UNK]', '[PAD]', '[CLS]', '[SEP]', '[MASK]']
theirs = None
if kind == 'bpe':
    theirs = Tokenizer(models.BPE())
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **common)
elif kind == 'wordpiece':
    theirs = Tokenizer(models.WordPiece(unk_token='[UNK]'))
    theirs.normalizer = normalizers.BertNormalizer(lowercase=False)
    theirs.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(special_tokens=bert, limit_alphabet=1000, **common)
elif kind == 'word':
    theirs = Tokenizer(models.WordLevel(unk_token='<unk>'))
    theirs.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(special_tokens=plain, **common)
mine = Tokenizer.from_file(f'{folder}/{kind}.json')
if theirs:
    theirs.train_from_iterator(texts, trainer)
    a, b = mine.get_vocab(), theirs.get_vocab()
    if kind == 'bpe':
        merges = [json.loads(t.to_str())['model']['merges'] for t in (mine, theirs)]
        assert a == b and merges[0] == merges[1], f'{kind}: another vocabulary'
    elif kind == 'word':
        assert a == b, f'{kind}: another vocabulary'
    else:
        # The package numbers continuations in the order of a hash table, which decides ties of pairs: its own
        # vocabularies differ by as much from run to run.
        assert len(set(a) & set(b)) >= 0.99 * len(b), f'{kind}: {len(set(a) & set(b))} of {len(b)} tokens'
ids = [[int(x) for x in line.split()] for line in lines('ids')]
encoded = mine.encode_batch(texts)
assert len(ids) == len(texts) and all(e.ids == i for e, i in zip(encoded, ids)), f'{kind}: other ids'
assert mine.decode_batch(ids) == lines('back'), f'{kind}: other texts'
print(f'{kind}: {mine.get_vocab_size()} tokens, {sum(map(len, ids))} ids')
