// Which clients are outdated.
import type { Client } from "./activity";

/** The protocol that every Cassandra from 4.0 on speaks. */
const spoken = 5;

const order = new Intl.Collator("en", { numeric: true }).compare;

/** The order of versions: 4.9 is before 4.10, and 4.0-beta1 before 4.0. */
export function versions(a: string, b: string): number {
  const parts = (text: string) => /^v?([\d.]*)(.*)$/.exec(text)!;
  const [, x, restX] = parts(a);
  const [, y, restY] = parts(b);
  return order(x!, y!) || Number(!restX) - Number(!restY) || order(restX!, restY!);
}

const numbered = (version: string) => /^v?\d/.test(version);

/** Why each client of a list is outdated; those that are not are left out. A driver is measured by
 *  the newest version of it that is connected. */
export function outdated(list: Client[]): Map<Client, string[]> {
  const newest = new Map<string, string>();
  for (const { driver, driver_version: version } of list) {
    const best = newest.get(driver);
    if (numbered(version) && (!best || versions(version, best) > 0)) newest.set(driver, version);
  }
  const found = new Map<Client, string[]>();
  for (const client of list) {
    const why: string[] = [];
    const best = newest.get(client.driver);
    if (best && numbered(client.driver_version) && versions(client.driver_version, best) < 0) {
      why.push(`others use version ${best} of this driver`);
    }
    const protocol = Number(/\d+/.exec(client.protocol)?.[0] ?? spoken);
    if (protocol < spoken) why.push(`Cassandra speaks protocol ${spoken}`);
    if (why.length > 0) found.set(client, why);
  }
  return found;
}
