import { type Artifact, Role, visibleText } from "@devtool/schema";
import type { ReactNode } from "react";
import { Item } from "./item.tsx";

/** What the agent has made beside its answer, such as images and files. */
export function Artifacts({
  artifacts,
}: {
  readonly artifacts: readonly Artifact[];
}): ReactNode {
  return artifacts.map(({ artifactId, name, description, parts }) => (
    <figure key={artifactId} className="artifact">
      {(name || description) && (
        <figcaption>
          {visibleText([name, description].filter(Boolean).join(" · "))}
        </figcaption>
      )}
      {parts.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts are appended, so a part keeps its place
        <Item key={index} item={{ key: artifactId, role: Role.AGENT, part }} />
      ))}
    </figure>
  ));
}
