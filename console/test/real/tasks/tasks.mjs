// What two real nodes do at this moment, caused by TestDoing, which says by ONLY what it is.
import { shows } from "../shows.mjs";

const page = "#/activity?view=tasks&cluster=doing";

export const tests = {
  "a compaction that runs": shows(page, "compaction", "orders"),
  "a node that leaves": shows(page, "decommission", "127.0.0.2"),
  "a node that left is an event": shows("#/events?range=1h&kind=node_left", "127.0.0.2"),
};
