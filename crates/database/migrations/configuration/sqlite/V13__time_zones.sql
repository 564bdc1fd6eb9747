-- Name of the time zone in which a user sees times; empty for that of the browser.
ALTER TABLE account ADD COLUMN time_zone TEXT NOT NULL DEFAULT '';
