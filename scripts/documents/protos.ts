import { readFileSync } from "node:fs";
import {
  createFileRegistry,
  type FileRegistry,
  fromBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { getComments } from "@bufbuild/protoplugin";

/** Reads the protos as they are published, including their comments. */
export function readProtos(): FileRegistry {
  const url = new URL(
    "../../packages/schema/dist/devtool.binpb",
    import.meta.url,
  );
  return createFileRegistry(
    fromBinary(FileDescriptorSetSchema, readFileSync(url)),
  );
}

/**
 * Returns the comment above an element as Markdown: one line for each
 * paragraph, which are separated by blank lines, and one for each item of a
 * list.
 */
export function commentOf(element: Parameters<typeof getComments>[0]): string {
  const paragraphs = getComments(element).leading?.split(/\n\s*\n/) ?? [];
  const joined = paragraphs.map((paragraph) =>
    paragraph.trim().replaceAll(/\s*\n\s*/g, "\n"),
  );
  return joined
    .map((paragraph) => paragraph.replaceAll(/\n(?!- )/g, " "))
    .join("\n\n");
}
