// What two real nodes are doing, caused by TestDoing: each page shows it.
import { shows } from "./shows.mjs";

export const tests = {
  "a large partition is an event": shows("#/events?range=1h&kind=large_partition", "orders"),
  "a repair is an event": shows("#/events?range=1h&kind=repair", "shop"),
  "the table that was repaired": shows("#/activity?view=repairs&cluster=doing", "orders"),
  "the driver that is connected": shows("#/activity?view=clients&cluster=doing", "gocql"),
  "the slow query without its literal": shows(
    "#/activity?view=queries&cluster=doing&range=1h",
    "orders",
    "v = ?",
  ),
  "the snapshot on the cluster's page": shows("#/cluster/doing?range=1h", "Snapshots", "orders"),
};
