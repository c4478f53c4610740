import { basename } from "node:path";
import type {
  ContentBlock,
  EmbeddedResource,
  PromptCapabilities,
  ResourceLink,
} from "@agentclientprotocol/sdk";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { dataText, type Part, PartSchema, takesMode } from "@devtool/schema";
import { defined } from "@devtool/schema/json";
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
 * the agent does not accept.
 */
export async function partsFromPrompt(
  prompt: readonly ContentBlock[],
  inputModes: readonly string[],
  readBuffer: ReadBuffer,
): Promise<Part[]> {
  if (prompt.length === 0) {
    throw invalidParams("prompt is empty: send at least one block");
  }
  const parts: Part[] = [];
  for (const [index, block] of prompt.entries()) {
    parts.push(
      ...(await partsFromBlock(block, {
        place: `prompt[${index}]`,
        inputModes,
        readBuffer,
      })),
    );
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
  block: ContentBlock,
  context: BlockContext,
): Promise<Part[]> {
  switch (block.type) {
    case "text":
      return [part({ content: { case: "text", value: block.text } })];
    case "image":
    case "audio": {
      assertTaken(block.mimeType, context);
      return [
        filePart(block.data, {
          name: "",
          mediaType: block.mimeType,
          place: context.place,
        }),
      ];
    }
    case "resource_link":
      return partsFromLink(block, context.readBuffer);
    case "resource":
      return partsFromResource(block, context);
    default: {
      // A block of a later version of ACP, which the SDK let through.
      const { type }: { readonly type?: unknown } = block satisfies never;
      const problem = `${context.place} has type ${JSON.stringify(type)}`;
      throw invalidParams(
        `${problem}: send text, image, audio, resource_link or resource`,
      );
    }
  }
}

/**
 * Returns a mention of a linked resource, and its text if the editor has it
 * open.
 */
async function partsFromLink(
  { uri, name, title, mimeType }: ResourceLink,
  readBuffer: ReadBuffer,
): Promise<Part[]> {
  const mention = part({
    content: { case: "text", value: `[${title || name}](${uri})` },
  });
  // A file that the editor has open may not be saved yet. The fragment of its
  // URI is a line range and does not belong to the path.
  const path = filePathOf(uri);
  const text = path === undefined ? undefined : await readBuffer(path);
  if (text === undefined) return [mention];
  const content = { case: "text", value: text } as const;
  return [
    mention,
    part({ content, fileName: name, mediaType: mimeType ?? "" }),
  ];
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
  { resource }: EmbeddedResource,
  context: BlockContext,
): Part[] {
  const name = basename(URL.parse(resource.uri)?.pathname ?? resource.uri);
  const mediaType = resource.mimeType ?? "";
  const mention = part({
    content: { case: "text", value: `[${name}](${resource.uri})` },
  });
  if ("text" in resource) {
    const content = { case: "text", value: resource.text } as const;
    return [mention, part({ content, fileName: name, mediaType })];
  }
  assertTaken(mediaType || "application/octet-stream", context);
  return [
    mention,
    filePart(resource.blob, { name, mediaType, place: context.place }),
  ];
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
