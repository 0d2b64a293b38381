/*--- toml
answers = "The gender of the words that an image's captions use, exactly as GenSynth's code labels them."
details = """
Captions are put in lower case and split at white space, punctuation stays attached ("man." is not "man"), and 22
words a gender are looked up. What the code calls undefined is told apart here: 'mixed' images have words of both
genders, 'unclear' ones of none. On the captions of COCO val2017: 1,205 male, 513 female, 227 mixed, 3,055 unclear.
"""
source = "Smith et al., Balancing the Picture (GenSynth, 2023), code (its paper prints 1,275 male and 539 female)"

[params.words]
relation = ["term", "class"]
default = "lists.gender_gensynth"
about = "terms of one word, in lower case"
---*/
SELECT image_id, label FROM caption_gender(words, 'gensynth')
