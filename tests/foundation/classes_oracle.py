"""classes_oracle.py FOLDER: writes small classifiers of texts with random weights as transformers saves them, with a
tokenizer, texts.txt, and their logits: classes.f32, (texts, classes).

    python3 tests/foundation/classes_oracle.py tests/golden/foundation
"""
import os
import sys

import torch
import transformers as t
from tokenizers import Tokenizer, models, pre_tokenizers, processors

torch.set_num_threads(1)
WORDS = ['[UNK]', '[PAD]', '[CLS]', '[SEP]', 'a', 'fine', 'film', 'the', 'plot', 'is', 'dull', 'and', 'long', 'we',
         'left', 'early', 'not', 'bad', 'at', 'all', '.', '!']
TEXTS = ['a fine film .', 'the plot is dull and long', 'we left early !', 'not bad at all', 'unheard words', 'film',
         'the film is not bad and the plot is fine , but we left early .']
SIZES = {'vocab_size': 32, 'hidden_size': 16, 'intermediate_size': 24, 'num_hidden_layers': 2,
         'num_attention_heads': 2, 'max_position_embeddings': 40}
NAMES = {0: 'negative', 1: 'neutral', 2: 'positive'}
MODELS = [
    ('bert-classes', t.BertForSequenceClassification, t.BertConfig(**SIZES, id2label=NAMES), torch.float32),
    ('roberta-classes', t.RobertaForSequenceClassification,
     t.RobertaConfig(**SIZES, pad_token_id=1, type_vocab_size=1, id2label=NAMES), torch.float16),
    ('distilbert-classes', t.DistilBertForSequenceClassification,
     t.DistilBertConfig(vocab_size=32, dim=16, hidden_dim=24, n_layers=2, n_heads=2, max_position_embeddings=40,
                        num_labels=4), torch.float32),
]


def make_tokenizer():
    form = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token='[UNK]'))
    form.pre_tokenizer = pre_tokenizers.Whitespace()
    form.add_special_tokens(WORDS[:4])
    form.post_processor = processors.BertProcessing(('[SEP]', 3), ('[CLS]', 2))
    return form


def main():
    for name, kind, config, dtype in MODELS:
        where = os.path.join(sys.argv[1], name)
        torch.manual_seed(3)
        model = kind(config).eval()
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(torch.randn(p.shape) * (0.4 if p.dim() > 1 else 0.3) + (1 if p.dim() == 1 and p.mean() > 0.5
                                                                               else 0))
        model = model.to(dtype)
        model.save_pretrained(where)
        model = model.float()
        form = make_tokenizer()
        form.save(os.path.join(where, 'tokenizer.json'))
        with torch.no_grad():
            logits = torch.cat([model(torch.tensor([form.encode(text).ids])).logits for text in TEXTS])
        logits.numpy().astype('<f4').tofile(os.path.join(where, 'classes.f32'))
        with open(os.path.join(where, 'texts.txt'), 'w') as file:
            file.write('\n'.join(TEXTS) + '\n')
        print(name, logits.argmax(1).tolist(), 'deviation %.2f' % logits.std())


main()
