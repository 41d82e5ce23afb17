/** The page. */
export function PipelinePage() {
  return <h1>Pipeline</h1>;
}
