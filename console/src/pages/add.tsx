/** The page. */
export function AddPage() {
  return <h1>Add</h1>;
}
