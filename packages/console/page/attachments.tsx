import { base64Encode } from "@bufbuild/protobuf/wire";
import { visibleText } from "@devtool/internal/visible-text";
import type { ReactNode } from "react";
import { useFocusHeir } from "./focus.ts";
import { words } from "./words.ts";

/** An image to send. */
export interface Attachment {
  readonly id: string;
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Files that were chosen, pasted or dropped. */
export interface Attached {
  readonly images: readonly Attachment[];
  /** The names of those that are no images, or cannot be read. */
  readonly others: readonly string[];
}

/** Reads the images among files. */
export async function readAttachments(
  files: Iterable<File>,
): Promise<Attached> {
  const images: Attachment[] = [];
  const others: string[] = [];
  for (const file of files) {
    const { name, type: mediaType } = file;
    const buffer = mediaType.startsWith("image/")
      ? await file.arrayBuffer().catch(() => undefined)
      : undefined;
    if (buffer) {
      images.push({
        id: crypto.randomUUID(),
        name,
        mediaType,
        bytes: new Uint8Array(buffer),
      });
    } else {
      others.push(name);
    }
  }
  return { images, others };
}

interface AttachmentsProps {
  readonly images: readonly Attachment[];
  readonly onRemove: (image: Attachment) => void;
}

/** The images that go with the next message. */
export function Attachments({ images, onRemove }: AttachmentsProps): ReactNode {
  if (images.length === 0) return null;
  return (
    <ul className="attachments">
      {images.map((image) => (
        <AttachedImage key={image.id} image={image} onRemove={onRemove} />
      ))}
    </ul>
  );
}

function AttachedImage({
  image,
  onRemove,
}: {
  readonly image: Attachment;
  readonly onRemove: (image: Attachment) => void;
}): ReactNode {
  const row = useFocusHeir<HTMLLIElement>(composerAround);
  return (
    <li ref={row}>
      <img
        src={`data:${image.mediaType};base64,${base64Encode(image.bytes)}`}
        alt={image.name}
      />
      <button
        type="button"
        aria-label={`${words.remove} ${visibleText(image.name)}`}
        onClick={() => onRemove(image)}
      >
        {words.remove}
      </button>
    </li>
  );
}

function composerAround(element: HTMLElement): HTMLElement | null | undefined {
  return element.closest("form")?.querySelector("textarea");
}
