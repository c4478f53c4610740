import { create } from "@bufbuild/protobuf";
import {
  type IdeContext,
  type Message,
  mergeIdeContext,
  PartSchema,
} from "@devtool/schema";
import { ideContextText } from "@devtool/server/agent";

/** Returns what a model has been told of the editor by the messages it gets. */
export function toldIdeContext(
  messages: readonly Message[],
): IdeContext | undefined {
  let told: IdeContext | undefined;
  for (const { ideContext } of messages) {
    if (ideContext) told = mergeIdeContext(told, ideContext);
  }
  return told;
}

/**
 * Puts what the editor shows into the messages of the user that it belongs to,
 * as a text in front. The same message always gives the same object.
 */
export class IdeMessages {
  readonly #shown = new WeakMap<Message, Message>();

  show(messages: readonly Message[]): readonly Message[] {
    return messages.some(({ ideContext }) => ideContext)
      ? messages.map((message) => this.#showOne(message))
      : messages;
  }

  #showOne(message: Message): Message {
    const { ideContext, parts } = message;
    if (!ideContext) return message;
    const earlier = this.#shown.get(message);
    if (earlier) return earlier;
    const text = ideContextText(ideContext);
    const part = create(PartSchema, { content: { case: "text", value: text } });
    const shown = { ...message, parts: [part, ...parts] };
    this.#shown.set(message, shown);
    return shown;
  }
}
