SELECT owner_no, owner_id, mode, position, fence::text, schema_versions::text[], codec_versions::text[] FROM owner WHERE owner_id = $1
