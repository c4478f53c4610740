import { type FormEvent, type ReactNode, useState } from "react";
import { deviceStorage, type OfferedCode, redeem } from "./access.ts";
import { createTransport } from "./console-client.ts";
import { problemText } from "./problem-text.ts";
import { words } from "./words.ts";

/**
 * The page of a browser without access: it takes the code of a device, and says
 * how to get access otherwise.
 */
export function NoAccess({ failed }: { readonly failed: boolean }): ReactNode {
  return (
    <main className="no-access">
      <h1>{words.accessTitle}</h1>
      {failed && <p role="alert">{words.accessFailed}</p>}
      <p>{words.accessText}</p>
      <pre>
        <code>devtool console</code>
      </pre>
      <PairingForm code="" keeper={deviceStorage()}>
        <label htmlFor="pairing-code">{words.pairingCode}</label>
        <pre>
          <code>devtool pair</code>
        </pre>
      </PairingForm>
    </main>
  );
}

/** Asks the user about a code that has come with the address. */
export function OfferedAccess({
  code,
  keeper,
  replaces,
}: OfferedCode): ReactNode {
  return (
    <main className="no-access">
      <h1>{words.pairTitle}</h1>
      <p>{words.pairText}</p>
      {replaces && <p role="alert">{words.pairReplaces}</p>}
      <PairingForm code={code} keeper={keeper}>
        <label htmlFor="pairing-code">{words.offeredCode}</label>
      </PairingForm>
      {replaces && (
        <button type="button" onClick={() => location.reload()}>
          {words.keepAccess}
        </button>
      )}
    </main>
  );
}

/** Redeems a code when its user submits it, and opens the console. */
function PairingForm({
  code: offered,
  keeper,
  children,
}: Pick<OfferedCode, "code" | "keeper"> & {
  readonly children: ReactNode;
}): ReactNode {
  const [code, setCode] = useState(offered);
  const [problem, setProblem] = useState("");
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    redeem(createTransport(""), code, keeper).then(
      () => location.reload(),
      (reason: unknown) => setProblem(problemText(reason)),
    );
  };
  return (
    <form onSubmit={submit}>
      {children}
      <input
        id="pairing-code"
        value={code}
        onChange={({ currentTarget }) => setCode(currentTarget.value)}
        autoComplete="one-time-code"
        autoCapitalize="characters"
        spellCheck={false}
        maxLength={Math.max(16, offered.length)}
        required
      />
      <button type="submit" className="primary">
        {words.pair}
      </button>
      {problem && <p role="alert">{problem}</p>}
    </form>
  );
}
