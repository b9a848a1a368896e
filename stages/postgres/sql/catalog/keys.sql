-- Runs with the search_path of one namespace's state schema.
SELECT item, location, opening_balance, reorder_threshold FROM stock_key ORDER BY key_id
