import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";

/**
 * Makes what is wrong with the bytes of a request the client's fault (ERR-1). The library calls bytes that are no message
 * or no frame an internal error of the server, which in Connect is an HTTP 500; it aborts the context with that error
 * before it writes it, and then its code can still be put right. What we throw ourselves has other words.
 */
export function blameClient({ signal }: HandlerContext): void {
  signal.addEventListener("abort", () => correct(signal.reason), { once: true });
}

/** Puts the code of an error right that says what is wrong with the bytes of a request, and its words, which name our packages. */
export function correct(reason: unknown): void {
  if (!(reason instanceof ConnectError)) return;
  if (reason.rawMessage.startsWith("cannot decode ")) {
    Object.defineProperty(reason, "rawMessage", { value: withoutPackages(reason.rawMessage) });
  }
  if (reason.code !== Code.Internal) return;
  if (OF_REQUEST.test(reason.rawMessage)) Object.defineProperty(reason, "code", { value: Code.InvalidArgument });
}

/** The words of the library with the names of messages and fields, and without the packages that they are in. */
function withoutPackages(words: string): string {
  return words.replace(/\b(?:[a-z]\w*\.)+(?=[A-Z])/g, "").slice(0, 300);
}

/** How the library words what is wrong with a request: the message, the frame, or what it is compressed with. */
const OF_REQUEST = /^(parse binary: |invalid envelope|received compressed envelope|decompression failed)/;
