/**
 * A form that the page answers itself. It does so at the click of its submit button, which Enter in a field makes too: in a sandboxed frame
 * without `allow-forms`, a browser submits no form, and there is no `submit` event.
 */

import { html } from "htm/preact";

/** @param {{onSubmit?: (event: MouseEvent) => void, children: *, [attribute: string]: any}} props `onSubmit`: gets the click, whose target is the form */
export function Form({ onSubmit, children, ...attributes }) {
  const onClick = (event) => {
    const button = event.target.closest("button");
    if (button?.type !== "submit") return;
    event.preventDefault();
    const form = event.currentTarget;
    if (form.noValidate || form.reportValidity()) onSubmit?.(event);
  };
  // A form without a submit button is submitted by Enter, which would load the page again.
  return html`<form ...${attributes} onClick=${onClick} onSubmit=${(event) => event.preventDefault()}>${children}</form>`;
}

/** Closes the dialog that it is in. */
export function CloseButton({ children }) {
  return html`<button class="button" type="button" onClick=${({ currentTarget }) => currentTarget.closest("dialog").close()}>${children}</button>`;
}
