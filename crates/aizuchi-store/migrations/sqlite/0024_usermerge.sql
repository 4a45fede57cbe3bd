-- A merge of the index goes on beside new segments, however few they are.
INSERT INTO recall_terms (recall_terms, rank) VALUES ('usermerge', 2);
