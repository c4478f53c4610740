import { basename } from "node:path";
import type {
  ContentBlock,
  PromptCapabilities,
} from "@agentclientprotocol/sdk";
import {
  create,
  type JsonObject,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import { defined, objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import { takesMode } from "@devtool/internal/output-mode";
import { oneLine } from "@devtool/internal/visible-text";
import { dataText, type Part, PartSchema } from "@devtool/schema";
import { invalidParams } from "./errors.ts";

/**
 * Reads the text of a file as the editor has it, unsaved changes included.
 * Undefined if the editor does not give it.
 */
export type ReadBuffer = (path: string) => Promise<string | undefined>;

/**
 * Returns what prompts may contain beside text and links, from the media types
 * that an agent accepts.
 */
export function promptCapabilities(
  inputModes: readonly string[],
): Required<Omit<PromptCapabilities, "_meta">> {
  const takes = (range: "image" | "audio"): boolean =>
    inputModes.length === 0 ||
    takesMode(inputModes, `${range}/*`) ||
    inputModes.some((mode) =>
      mode.trim().toLowerCase().startsWith(`${range}/`),
    );
  return {
    image: takes("image"),
    audio: takes("audio"),
    embeddedContext: true,
  };
}

/**
 * Returns the blocks of a prompt as parts of a message. Throws for a block that
 * the agent does not accept, and for one that is not as ACP has it.
 */
export async function partsFromPrompt(
  prompt: unknown,
  inputModes: readonly string[],
  readBuffer: ReadBuffer,
): Promise<Part[]> {
  const blocks = [prompt ?? []].flat();
  if (blocks.length === 0) {
    throw invalidParams("prompt is empty: send at least one block");
  }
  const parts: Part[] = [];
  for (const [index, sent] of blocks.entries()) {
    const block = objectOrEmpty(sent);
    const place = `prompt[${index}]`;
    const context = { place, inputModes, readBuffer };
    parts.push(...(await partsFromBlock(block, context)));
  }
  return parts;
}

interface BlockContext {
  /** Where the block is, for errors. */
  readonly place: string;
  readonly inputModes: readonly string[];
  readonly readBuffer: ReadBuffer;
}

async function partsFromBlock(
  block: JsonObject,
  context: BlockContext,
): Promise<Part[]> {
  const { place } = context;
  switch (block.type) {
    case "text":
      return [
        part({
          content: { case: "text", value: textIn(block, "text", place) },
        }),
      ];
    case "image":
    case "audio": {
      const mediaType = textIn(block, "mimeType", place);
      assertTaken(mediaType, context);
      const data = textIn(block, "data", place);
      return [filePart(data, { name: "", mediaType, place })];
    }
    case "resource_link":
      return partsFromLink(block, context);
    case "resource":
      return partsFromResource(objectOrEmpty(block.resource), context);
    default:
      throw invalidParams(
        `${place} has type ${oneLine(JSON.stringify(block.type ?? null), 80)}: send text, image, audio, resource_link or resource`,
      );
  }
}

/**
 * Returns a text of a block, with U+FFFD for each surrogate without a partner.
 * Throws for anything but a text.
 */
function textIn(block: JsonObject, field: string, place: string): string {
  const { [field]: value = null } = block;
  if (typeof value === "string") return value.toWellFormed();
  throw invalidParams(
    `${place} has ${field} ${oneLine(JSON.stringify(value), 80)}: send text`,
  );
}

/**
 * Returns a mention of a linked resource, and its text if the editor has it
 * open.
 */
async function partsFromLink(
  link: JsonObject,
  { place, readBuffer }: BlockContext,
): Promise<Part[]> {
  const uri = textIn(link, "uri", place);
  const [title, name] = ["title", "name"].map((field) =>
    (link[field] ?? null) === null ? "" : textIn(link, field, place),
  );
  const mention = part({
    content: { case: "text", value: `[${title || name || uri}](${uri})` },
  });
  // A file that the editor has open may not be saved yet. The fragment of its
  // URI is a line range and does not belong to the path.
  const path = filePathOf(uri);
  const text = path === undefined ? undefined : await readBuffer(path);
  if (text === undefined) return [mention];
  const content = { case: "text", value: text } as const;
  const mediaType = stringOrEmpty(link.mimeType).toWellFormed();
  return [mention, part({ content, fileName: name || uri, mediaType })];
}

/**
 * Returns the path that a file URI leads to. Undefined for any other URI, and
 * for one that clients made of a path without encoding it.
 */
function filePathOf(uri: string): string | undefined {
  const url = URL.parse(uri);
  if (url?.protocol !== "file:") return undefined;
  try {
    return decodeURIComponent(url.pathname);
  } catch {
    return undefined;
  }
}

/** Returns a mention of an embedded resource, and its text or its bytes. */
function partsFromResource(
  resource: JsonObject,
  context: BlockContext,
): Part[] {
  const place = `${context.place}.resource`;
  const uri = textIn(resource, "uri", place);
  const name = basename(URL.parse(uri)?.pathname ?? uri);
  const mediaType = stringOrEmpty(resource.mimeType).toWellFormed();
  const mention = part({
    content: { case: "text", value: `[${name}](${uri})` },
  });
  const hasBytes = typeof resource.text !== "string" && "blob" in resource;
  if (!hasBytes) {
    const value = textIn(resource, "text", place);
    const content = { case: "text", value } as const;
    return [mention, part({ content, fileName: name, mediaType })];
  }
  assertTaken(mediaType || "application/octet-stream", context);
  const data = textIn(resource, "blob", place);
  return [mention, filePart(data, { name, mediaType, place: context.place })];
}

function assertTaken(
  mimeType: string,
  { inputModes, place }: BlockContext,
): void {
  if (takesMode(inputModes, mimeType)) return;
  const accepted = inputModes.join(", ");
  throw invalidParams(
    `${place} is ${JSON.stringify(mimeType)}, which the agent does not accept: send ${accepted}`,
  );
}

function filePart(
  base64: string,
  {
    name,
    mediaType,
    place,
  }: {
    readonly name: string;
    readonly mediaType: string;
    readonly place: string;
  },
): Part {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) {
    throw invalidParams(`${place} has data that is not Base64: encode it`);
  }
  const bytes = new Uint8Array(Buffer.from(base64, "base64"));
  return part({
    content: {
      case: "file",
      value: { name, mediaType, source: { case: "bytes", value: bytes } },
    },
  });
}

function part(init: MessageInitShape<typeof PartSchema>): Part {
  return create(PartSchema, init);
}

/**
 * Returns the parts of a message or an artifact as blocks. Thoughts, calls and
 * answers are shown by updates of their own.
 */
export function blocksFromParts(parts: readonly Part[]): ContentBlock[] {
  return parts.flatMap(({ content }): ContentBlock[] => {
    switch (content.case) {
      case "text":
        return content.value === ""
          ? []
          : [{ type: "text", text: content.value }];
      case "data":
      case "dataValue":
        return [{ type: "text", text: dataText(content, 2) }];
      case "file": {
        const { name, mediaType, source } = content.value;
        if (source.case !== "bytes") {
          return [linkBlock(source.value ?? "", name)];
        }
        const data = Buffer.from(source.value).toString("base64");
        if (mediaType.startsWith("image/")) {
          return [{ type: "image", data, mimeType: mediaType }];
        }
        if (mediaType.startsWith("audio/")) {
          return [{ type: "audio", data, mimeType: mediaType }];
        }
        const resource = defined({
          uri: `attachment:${encodeURIComponent(name || "file")}`,
          blob: data,
          mimeType: mediaType || undefined,
        });
        return [{ type: "resource", resource }];
      }
      case "citation":
        return [linkBlock(content.value.uri, content.value.title)];
      case "thought":
      case "toolCall":
      case "confirmation":
      case "summary":
      case undefined:
        return [];
      default:
        return content satisfies never;
    }
  });
}

/**
 * Returns a link to a source, or its title as text if the source has no
 * address.
 */
export function linkBlock(uri: string, name: string): ContentBlock {
  return uri === ""
    ? { type: "text", text: name }
    : { type: "resource_link", uri, name: name || uri };
}
