import { readFileSync } from "node:fs";
import { createFileRegistry, type FileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { getComments } from "@bufbuild/protoplugin";

/** The protos as they are published, with their comments. */
export function readProtos(): FileRegistry {
  const url = new URL("../../packages/schema/dist/devtool.binpb", import.meta.url);
  return createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(url)));
}

/** The comment above an element, its paragraphs in a line each. */
export function commentOf(element: Parameters<typeof getComments>[0]): string {
  const paragraphs = getComments(element).leading?.split(/\n\s*\n/) ?? [];
  return paragraphs.map((paragraph) => paragraph.trim().replaceAll(/\s*\n\s*/g, " ")).join("\n");
}
