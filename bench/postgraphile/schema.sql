-- The same graph as a world of Tidefeed's, in tables that a careful user of PostGraphile would make: every relation has
-- its index, a page's order is that of an index, and the timeline is a function that PostgreSQL inlines.
CREATE TABLE users (
    id bigint PRIMARY KEY,
    handle text NOT NULL UNIQUE,
    name text NOT NULL,
    avatar_url text
);

CREATE TABLE contents (
    id bigint PRIMARY KEY,
    author_id bigint NOT NULL REFERENCES users,
    kind smallint NOT NULL,
    text text NOT NULL,
    media jsonb NOT NULL,
    publish_time bigint NOT NULL,
    replies bigint NOT NULL,
    likes bigint NOT NULL,
    reposts bigint NOT NULL
);

CREATE TABLE follows (
    follower_id bigint NOT NULL REFERENCES users,
    author_id bigint NOT NULL REFERENCES users,
    PRIMARY KEY (follower_id, author_id)
);

\copy users FROM 'users.tsv'
\copy contents FROM 'contents.tsv'
\copy follows FROM 'follows.tsv'
UPDATE users SET avatar_url = NULL WHERE avatar_url = '';

CREATE INDEX outbox ON contents (author_id, publish_time DESC, id DESC);
CREATE INDEX newest ON contents (publish_time DESC, id DESC);
CREATE INDEX followers ON follows (author_id, follower_id);

-- The newest 21 of each followed author are enough for a first page of 20.
CREATE FUNCTION timeline(reader bigint) RETURNS SETOF contents LANGUAGE sql STABLE ROWS 20 AS $$
    SELECT c.*
    FROM follows f
    CROSS JOIN LATERAL (
        SELECT * FROM contents o WHERE o.author_id = f.author_id ORDER BY o.publish_time DESC, o.id DESC LIMIT 21
    ) c
    WHERE f.follower_id = reader
    ORDER BY c.publish_time DESC, c.id DESC
$$;

VACUUM ANALYZE;
