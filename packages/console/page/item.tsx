import { toJsonString } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { TaskItem } from "@devtool/client";
import { visibleText } from "@devtool/internal/visible-text";
import { type File, Role } from "@devtool/schema";
import type { ReactNode } from "react";
import { forkAddress, messageOf } from "./place.ts";
import { Prose } from "./prose.tsx";
import { ToolCallView } from "./tool-call-view.tsx";
import { words } from "./words.ts";

interface ItemProps {
  readonly item: TaskItem;
  /** Whether a new session can go on from before the message of the item. */
  readonly canFork: boolean;
}

/**
 * One thing that was said or done. What users wrote is shown as they wrote it,
 * and never as markup.
 */
export function Item({ item, canFork }: ItemProps): ReactNode {
  const { part, role } = item;
  const { content } = part;
  switch (content.case) {
    case "text":
      return role === Role.USER ? (
        <>
          <p className="prompt">{content.value}</p>
          {canFork && (
            <a className="rewind" href={forkAddress(messageOf(item))}>
              {words.rewind}
            </a>
          )}
        </>
      ) : (
        <Prose text={content.value} />
      );
    case "thought":
      return (
        <details className="thought">
          <summary>
            {words.thought}: {content.value.subject}
          </summary>
          <Prose text={content.value.description} />
        </details>
      );
    case "toolCall":
      return <ToolCallView part={part} />;
    case "file":
      return <FileView file={content.value} />;
    case "data":
      return (
        <pre className="output">{JSON.stringify(content.value, null, 2)}</pre>
      );
    case "dataValue":
      return (
        <pre className="output">
          {toJsonString(ValueSchema, content.value, { prettySpaces: 2 })}
        </pre>
      );
    case "summary":
      return <Prose text={content.value.text} />;
    case "citation":
      return (
        <p className="citation">
          {visibleText(content.value.title || content.value.uri)}
        </p>
      );
    // The call shows its answer.
    case "confirmation":
    case undefined:
      return null;
    default:
      return content satisfies never;
  }
}

/**
 * The kinds of images that are shown. SVG may hold scripts, and is not among
 * them.
 */
const IMAGES = /^image\/(png|jpeg|gif|webp|avif)$/;

/**
 * A file: an image is shown, another one is named. Files elsewhere are not
 * loaded.
 */
function FileView({
  file: { name, mediaType, source },
}: {
  readonly file: File;
}): ReactNode {
  if (source.case === "bytes" && IMAGES.test(mediaType)) {
    return (
      <img
        className="picture"
        src={`data:${mediaType};base64,${base64Encode(source.value)}`}
        alt={name || mediaType}
      />
    );
  }
  return (
    <p className="citation">
      {visibleText(name || (source.case === "uri" ? source.value : mediaType))}
    </p>
  );
}
