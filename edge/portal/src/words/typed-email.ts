// The address that was typed on one of the pages for guests, for the next of them. It's in memory only.
import { useState } from "preact/hooks";
import * as session from "../session";

let typed = "";
session.listen(() => {
  typed = "";
});

export function useTypedEmail(): [string, (email: string) => void] {
  const [email, setEmail] = useState(typed);
  return [
    email,
    (next) => {
      typed = next;
      setEmail(next);
    },
  ];
}
