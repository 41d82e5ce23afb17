/** The page. */
export function TablesPage() {
  return <h1>Tables</h1>;
}
