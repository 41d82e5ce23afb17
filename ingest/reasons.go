package ingest

// reasons are all that a frame is refused for. The counter of each is there from the start, as 0:
// PromQL's increase does not see a counter's first value, and would miss a reason's first frame.
var reasons = []string{
	"account_memory", "account_share", "address_share", "bad_header", "broken_body",
	"cancelled", "checksum", "clock_ahead", "clock_skew", "content_encoding", "content_type",
	"expired_key", "foreign_cluster", "frame_memory", "internal", "kafka", "kafka_limit",
	"key_check", "low_memory", "magic", "malformed", "method", "network", "new_nodes",
	"new_series", "no_key", "other_cluster", "other_node", "overloaded", "process", "rate",
	"ratio", "raw_too_large", "recorder", "revoked_key", "scope", "slow_body", "too_large",
	"too_many_buckets", "too_many_nodes", "too_many_series", "too_many_wrong_keys", "too_old",
	"truncated", "unpack_rate", "version", "wrong_key",
}
