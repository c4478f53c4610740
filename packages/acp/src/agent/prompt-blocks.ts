import { isUtf8 } from "node:buffer";
import type {
  ContentBlock,
  PromptCapabilities,
} from "@agentclientprotocol/sdk";
import { dataText, type File, type Message } from "@devtool/schema";
import { Code, DevtoolError, quoted } from "@devtool/server/agent";

/**
 * Returns a message of the user as the blocks of a prompt.
 *
 * Files become images, audio and embedded resources where the agent accepts
 * them; text files become text otherwise, and files by URI are links. Throws
 * `Code.InvalidArgument` for a file that the agent cannot be given.
 */
export function promptBlocks(
  { parts }: Message,
  agent: string,
  accepts: PromptCapabilities,
): ContentBlock[] {
  return parts.flatMap(({ content, fileName }): ContentBlock[] => {
    switch (content.case) {
      case "text":
        return [
          text(
            fileName === "" ? content.value : `${fileName}:\n${content.value}`,
          ),
        ];
      case "file":
        return [fileBlock(content.value, agent, accepts)];
      case "data":
      case "dataValue":
        return [text(dataText(content))];
      // Answers, and what only agents send.
      case "confirmation":
      case "thought":
      case "toolCall":
      case "summary":
      case "citation":
      case undefined:
        return [];
      default:
        return content satisfies never;
    }
  });
}

/**
 * Returns what the user's editor shows as an embedded resource, or as a text
 * for an agent that accepts none.
 */
export function contextBlock(
  value: string,
  { embeddedContext }: PromptCapabilities,
): ContentBlock {
  const uri = "attachment:///editor-context";
  return embeddedContext === true
    ? {
        type: "resource",
        resource: { uri, mimeType: "text/plain", text: value },
      }
    : text(value);
}

/** Returns a block with a text. */
export function text(value: string): ContentBlock {
  return { type: "text", text: value };
}

function fileBlock(
  { name, mediaType, source }: File,
  agent: string,
  accepts: PromptCapabilities,
): ContentBlock {
  if (source.case !== "bytes") {
    const uri = source.value ?? "";
    return {
      type: "resource_link",
      name: name || uri,
      uri,
      ...(mediaType === "" ? {} : { mimeType: mediaType }),
    };
  }
  const data = Buffer.from(source.value).toString("base64");
  const [kind] = mediaType.split("/");
  if (kind === "image" && accepts.image === true) {
    return { type: "image", data, mimeType: mediaType };
  }
  if (kind === "audio" && accepts.audio === true) {
    return { type: "audio", data, mimeType: mediaType };
  }
  const isText = !source.value.includes(0) && isUtf8(source.value);
  const decoded = isText ? new TextDecoder().decode(source.value) : undefined;
  if (accepts.embeddedContext === true) {
    const place = {
      uri: `attachment:///${encodeURIComponent(name || "file")}`,
      mimeType: mediaType || null,
    };
    return {
      type: "resource",
      resource:
        decoded === undefined
          ? { ...place, blob: data }
          : { ...place, text: decoded },
    };
  }
  if (decoded !== undefined) return text(`${name || "file"}:\n${decoded}`);
  const refused = kind === "image" || kind === "audio" ? kind : "files";
  const file = quoted(name || mediaType || "without a name");
  const problem = `file ${file} cannot be sent: agent ${quoted(agent)} accepts no ${refused}`;
  throw new DevtoolError(problem, Code.InvalidArgument, {
    remedy: "send its URI or a text",
  });
}
