import { type ReactNode, useState } from "react";
import { ConformanceReport } from "./conformance-report.tsx";
import { words } from "./words.ts";

/**
 * Opens a conformance report from a file that is chosen or dropped. The file
 * stays in the browser.
 */
export function ReportOpener(): ReactNode {
  const [json, setJson] = useState("");
  const open = (file: File | undefined): void => {
    // A file that cannot be read is shown as what it is: not a report.
    void file?.text().then(setJson, () => setJson(" "));
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the field does the same without a pointer
    <div
      className="report-opener"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        open(event.dataTransfer.files[0]);
      }}
    >
      <label>
        {words.openReport}
        <input
          type="file"
          accept=".json,application/json"
          onChange={({ currentTarget }) => open(currentTarget.files?.[0])}
        />
      </label>
      {json !== "" && <ConformanceReport json={json} />}
    </div>
  );
}
