/** The page. */
export function AlertsPage() {
  return <h1>Alerts</h1>;
}
