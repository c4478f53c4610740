import { posix } from "node:path";
import type { StaticSite, StaticSiteFile } from "../../static-site.ts";
import { hostOf } from "./guard.ts";
import { isOtherLoopbackName } from "./own-addresses.ts";
import {
  finish,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  isKnownTag,
  pathOf,
  type Route,
  send,
} from "./route.ts";

/**
 * The content security policy. Pages run and load only files of this server,
 * and never turn text into markup or script (Trusted Types), except for the
 * address of a service worker, by the policy of that name. Images may also be
 * data, such as those that agents make.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types service-worker",
].join("; ");

const SECURITY_HEADERS = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** The smallest file in bytes that is sent compressed. */
const MIN_COMPRESSED_BYTES = 1024;

/**
 * The route of a static site, which needs no credentials: the files of its list
 * and nothing else.
 *
 * The path of the site without a slash at its end leads to the one with it, so
 * that relative addresses in pages work. With a URL, pages at other names of
 * loopback lead to that URL: they could be another program's (`ownAddresses`).
 */
export function staticSiteRoutes(
  { path, files }: StaticSite,
  url?: string,
): Route[] {
  const compressed = new Map<StaticSiteFile, Uint8Array>();
  return [
    {
      name: `site ${path}`,
      access: "public",
      matches: (method, requested) =>
        (method === "GET" || method === "HEAD") &&
        (requested === path || requested.startsWith(`${path}/`)),
      handle: (request, response) => {
        const requested = pathOf(request).slice(path.length);
        if (url !== undefined && isOtherLoopbackName(hostOf(request), url)) {
          return send(response, 307, { body: "", location: `${url}${path}/` });
        }
        for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
          response.setHeader(name, value);
        }
        if (requested === "") {
          return send(response, 308, {
            body: "",
            location: `./${posix.basename(path)}/`,
          });
        }
        const file = files.get(requested);
        if (!file) {
          return send(response, 404, {
            body: "not found\n",
            "content-type": "text/plain; charset=utf-8",
          });
        }
        sendFile(request, response, file, compressed);
      },
    },
  ];
}

/** A server whose site nobody opens starts without `node:zlib`. */
function gzip({ bytes }: StaticSiteFile): Uint8Array {
  return process.getBuiltinModule("node:zlib").gzipSync(bytes);
}

/**
 * Sends a file, compressed if the client accepts that. `compressed` keeps the
 * compressed files for further requests.
 */
function sendFile(
  request: HttpRequest,
  response: HttpResponse,
  file: StaticSiteFile,
  compressed: Map<StaticSiteFile, Uint8Array>,
): void {
  const accepted = headerOf(request, "accept-encoding").replaceAll(" ", "");
  const takesGzip = /\bgzip\b(?!;q=0(?:\.0*)?(?:,|$))/.test(accepted);
  const isCompressed = takesGzip && file.bytes.length >= MIN_COMPRESSED_BYTES;
  const body = isCompressed ? (compressed.get(file) ?? gzip(file)) : file.bytes;
  if (isCompressed) compressed.set(file, body);
  const etag = `"${file.hash}${isCompressed ? "-gzip" : ""}"`;
  response.setHeader("etag", etag);
  response.setHeader(
    "cache-control",
    file.isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
  );
  response.appendHeader("vary", "Accept-Encoding");
  if (isKnownTag(request, etag)) {
    response.statusCode = 304;
    finish(response, "");
    return;
  }
  response.setHeader("content-type", file.mediaType);
  response.setHeader("content-length", body.length);
  if (isCompressed) response.setHeader("content-encoding", "gzip");
  finish(response, request.method === "HEAD" ? "" : body);
}
