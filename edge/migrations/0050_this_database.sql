-- Which of the databases this one is, once it has been used: two bindings that are exchanged by mistake would
-- answer for each other's accounts.
CREATE TABLE this_database (
  number INTEGER NOT NULL CHECK (number BETWEEN 0 AND 255)
) STRICT;
