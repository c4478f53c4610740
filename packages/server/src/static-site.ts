/**
 * Pages that a server offers to web browsers, such as those of
 * `@devtool/console`: a list of files that does not change.
 *
 * With a site, web pages of the server's own origins may call it, and
 * `BrowserAccessService` lets browsers in.
 */
export interface StaticSite {
  /**
   * The path below which the files are, without a slash at its end:
   * `/console`.
   */
  readonly path: string;

  /** The files by their paths below `path`: `/` is the first page. */
  readonly files: ReadonlyMap<string, StaticSiteFile>;
}

/** A file of a static site. */
export interface StaticSiteFile {
  /**
   * The content, not compressed: the server compresses it for browsers that
   * accept that.
   */
  readonly bytes: Uint8Array;

  /** The media type, with the character set of a text. */
  readonly mediaType: string;

  /**
   * Identifies the content, such as SHA-256 in base64url. Browsers that have
   * the file ask with it (`ETag`), and get it only when it has changed.
   */
  readonly hash: string;

  /**
   * Whether the path has the hash of the content, so that browsers may keep the
   * file forever.
   */
  readonly isImmutable: boolean;
}
