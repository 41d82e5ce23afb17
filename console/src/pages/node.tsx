/** The page. */
export function NodePage() {
  return <h1>Node</h1>;
}
