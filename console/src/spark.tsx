// A line of values within a line of text.

const width = 96;
const height = 20;

/** A small plot of values that are equally far apart. What it shows is said in words, too. */
export function Spark({ values, text }: { values: (number | null)[]; text: string }) {
  const known = values.filter((v) => v !== null);
  if (known.length < 2) return <span class="dim">–</span>;
  const most = Math.max(...known) || 1;
  let path = "";
  let gap = true;
  values.forEach((v, i) => {
    if (v === null) {
      gap = true;
      return;
    }
    const x = (i / (values.length - 1)) * width;
    const y = height - 1 - (Math.max(0, v) / most) * (height - 2);
    path += `${gap ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
    gap = false;
  });
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={text}
    >
      <title>{text}</title>
      <path d={path} />
    </svg>
  );
}
