/*--- toml
answers = "What every audit of captions needs, computed once: gendered words, words, crime words, countries, sentiment."
details = """
Each is a materialized view that keeps the rows of a built-in one, or a generated column that keeps what a function gives.
Queries read them in place of the built-in view or the call as long as they are fresh, and compute as before where they are
not: answers are the same. cbal refresh brings them up to date after an ingest. Worth its while from some 100,000 captions
on; words take about as much room as the captions. Only calls with default arguments are kept; for others, declare a view
of your own: CREATE MATERIALIZED VIEW … AS SELECT * FROM term_concepts(my_words).
"""
source = "answering queries by materialized views: Halevy, Answering queries using views (2001)"
---*/

-- step words: the words of every image, those of crimes, and the countries it names
CREATE MATERIALIZED VIEW IF NOT EXISTS prepared_words WITH (key = 'image_id, concept') AS SELECT * FROM word_concepts();
CREATE MATERIALIZED VIEW IF NOT EXISTS prepared_crime_words WITH (key = 'image_id, concept') AS SELECT * FROM term_concepts(lists.crime_words);
CREATE MATERIALIZED VIEW IF NOT EXISTS prepared_countries WITH (key = 'image_id, concept') AS SELECT * FROM country_concepts();
REFRESH prepared_words, prepared_crime_words, prepared_countries;

-- step gender: whom captions name
CREATE MATERIALIZED VIEW IF NOT EXISTS prepared_gender WITH (key = 'image_id') AS SELECT * FROM caption_gender();
REFRESH prepared_gender;

-- step sentiment: the score of every caption
ALTER TABLE captions ADD COLUMN IF NOT EXISTS vader AS (vader(text));
REFRESH captions.vader;

-- step labels: images of each group by their captions
SELECT * FROM demographics();
