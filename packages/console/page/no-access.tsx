import type { ReactNode } from "react";
import { words } from "./words.ts";

/** The page of a browser without access: it says how to get access. */
export function NoAccess({ failed }: { readonly failed: boolean }): ReactNode {
  return (
    <main className="no-access">
      <h1>{words.accessTitle}</h1>
      {failed && <p role="alert">{words.accessFailed}</p>}
      <p>{words.accessText}</p>
      <pre>
        <code>devtool console</code>
      </pre>
    </main>
  );
}
