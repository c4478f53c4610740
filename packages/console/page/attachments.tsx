import { base64Encode } from "@bufbuild/protobuf/wire";
import type { ReactNode } from "react";
import { words } from "./words.ts";

/** An image to send. */
export interface Attachment {
  readonly id: string;
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Reads the images among files. */
export async function readAttachments(files: Iterable<File>): Promise<Attachment[]> {
  const images = [...files].filter(({ type }) => type.startsWith("image/"));
  return Promise.all(
    images.map(async (file) => ({
      id: crypto.randomUUID(),
      name: file.name,
      mediaType: file.type,
      bytes: new Uint8Array(await file.arrayBuffer()),
    })),
  );
}

export interface AttachmentsProps {
  readonly images: readonly Attachment[];
  readonly onRemove: (image: Attachment) => void;
}

/** The images that go with the next message. */
export function Attachments({ images, onRemove }: AttachmentsProps): ReactNode {
  if (images.length === 0) return null;
  return (
    <ul className="attachments">
      {images.map((image) => (
        <li key={image.id}>
          <img src={`data:${image.mediaType};base64,${base64Encode(image.bytes)}`} alt={image.name} />
          <button type="button" onClick={() => onRemove(image)}>
            {words.remove}
          </button>
        </li>
      ))}
    </ul>
  );
}
