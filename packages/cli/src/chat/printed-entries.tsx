import { Static } from "ink";
import type { ReactNode } from "react";
import type { Entry } from "./entry.ts";
import { Lines } from "./lines.tsx";

/** Prints each entry once. From then on it belongs to the terminal's scrollback. */
export function PrintedEntries({ entries }: { readonly entries: readonly Entry[] }): ReactNode {
  return <Static items={[...entries]}>{({ key, lines }) => <Lines key={key} lines={lines} />}</Static>;
}
