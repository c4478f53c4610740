import { visibleText } from "@devtool/internal/visible-text";
import type { FileDiff } from "@devtool/schema";
import type { ReactNode } from "react";
import { ColouredCode } from "./coloured-code.tsx";
import { type DiffLine, diffHunks } from "./diff-rows.ts";
import { Scrolling } from "./scrolling.tsx";
import { words } from "./words.ts";

/**
 * A change to a file, before and after side by side; on narrow screens one
 * below the other. A new file has no side before.
 */
export function DiffView({ diff }: { readonly diff: FileDiff }): ReactNode {
  const language = diff.fileName.split(".").at(-1) ?? "";
  const isNew = diff.oldContent === undefined;
  return (
    <figure className="diff">
      <figcaption>
        {visibleText(diff.filePath)}
        {isNew && ` (${words.newFile})`}
      </figcaption>
      <Scrolling label={diff.fileName}>
        {diffHunks(diff).map((rows) => (
          <table key={rows[0]?.key}>
            <thead>
              <tr>
                {!isNew && <th>{words.before}</th>}
                <th>{words.after}</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ key, before, after, isChanged }) => (
                <tr key={key}>
                  {!isNew && (
                    <Cell
                      line={before}
                      mark={isChanged ? "-" : " "}
                      language={language}
                    />
                  )}
                  <Cell
                    line={after}
                    mark={isChanged ? "+" : " "}
                    language={language}
                  />
                </tr>
              ))}
            </tbody>
          </table>
        ))}
      </Scrolling>
    </figure>
  );
}

interface CellProps {
  readonly line: DiffLine | undefined;
  readonly mark: "-" | "+" | " ";
  /** The extension of the file's name. */
  readonly language: string;
}

function Cell({ line, mark, language }: CellProps): ReactNode {
  if (!line) return <td className="none" />;
  return (
    <td data-mark={mark}>
      <div className="line">
        <span className="line-number">{line.number}</span>
        <code>
          {mark}
          <ColouredCode text={visibleText(line.text)} language={language} />
        </code>
      </div>
    </td>
  );
}
