import { visibleText } from "@devtool/internal/visible-text";
import { type Artifact, type Part, Role } from "@devtool/schema";
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
      {withWholeTexts(parts).map((part, index) => (
        <Item
          // biome-ignore lint/suspicious/noArrayIndexKey: parts are appended, so a part keeps its place
          key={index}
          item={{ key: artifactId, role: Role.AGENT, part }}
          canFork={false}
        />
      ))}
    </figure>
  ));
}

/** Joins the pieces of a text, which each update brings as a part of its own. */
function withWholeTexts(parts: readonly Part[]): readonly Part[] {
  const whole: Part[] = [];
  for (const part of parts) {
    const last = whole.at(-1);
    if (part.content.case === "text" && last?.content.case === "text") {
      const value = last.content.value + part.content.value;
      whole.splice(-1, 1, { ...last, content: { case: "text", value } });
    } else {
      whole.push(part);
    }
  }
  return whole;
}
