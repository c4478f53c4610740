/** Why a companion refused or could not do something. */
export type IdeErrorReason =
  /** What was proposed is larger than the limit. */
  | "content_too_large"
  /** A path that a client sent is not absolute. */
  | "path_not_absolute"
  /** The client has as many diffs open as it may have. */
  | "too_many_diffs"
  /** The editor failed, or did not answer in time. */
  | "editor_failed";

/** An error of a companion. Its message may be shown to clients. */
export class IdeError extends Error {
  override readonly name = "IdeError";
  readonly reason: IdeErrorReason;

  constructor(reason: IdeErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
