/** The properties and attributes of `<decant-converter>` in JSX and in templates. */
export interface DecantConverterProps
  extends Partial<
    Pick<
      DecantConverterElement,
      'sample' | 'compact' | 'wholeWindow' | 'output' | 'places' | 'streamedDownloads' | 'texts'
    >
  > {
  'whole-window'?: boolean | '';
}

/** An event of the element, with the element that listens. */
type DecantConverterEvent<Type extends keyof DecantConverterEvents> = DecantConverterEvents[Type] & {
  readonly currentTarget: DecantConverterElement;
};

/** A listener for each event of the element, called as in JSX and Svelte: `ondecant-done` for `decant-done`. */
export type DecantConverterListeners<Prefix extends string = 'on'> = {
  [Type in keyof DecantConverterEvents as `${Prefix}${Type}`]?:
    | ((event: DecantConverterEvent<Type>) => void)
    | undefined;
};

/** A listener for each event of the element, called as in Vue: `onDecantDone`, in templates `@decant-done`. */
export type DecantConverterVueListeners = {
  [Type in keyof DecantConverterEvents as Type extends `decant-${infer Name}` ? `onDecant${Capitalize<Name>}` : never]?:
    | ((event: DecantConverterEvent<Type>) => void)
    | undefined;
};

// If a program lacks a framework, its module and types are missing, which must not be an error in the program.
// @ts-ignore
declare module 'react' {
  namespace JSX {
    interface IntrinsicElements {
      // @ts-ignore
      'decant-converter': DetailedHTMLProps<HTMLAttributes<DecantConverterElement>, DecantConverterElement> &
        DecantConverterProps &
        DecantConverterListeners;
    }
  }
}
// @ts-ignore
declare module 'preact' {
  namespace JSX {
    interface IntrinsicElements {
      // biome-ignore format: what is ignored is one line
      // @ts-ignore
      'decant-converter': Omit<ComponentProps<'div'>, 'ref'> & ClassAttributes<DecantConverterElement> & DecantConverterProps & DecantConverterListeners;
    }
  }
}
// @ts-ignore
declare module 'solid-js/jsx-runtime' {
  namespace JSX {
    interface IntrinsicElements {
      // @ts-ignore
      'decant-converter': HTMLAttributes<DecantConverterElement> &
        DecantConverterProps &
        DecantConverterListeners<'on:'>;
    }
  }
}
// @ts-ignore
declare module 'svelte/elements' {
  interface SvelteHTMLElements {
    // @ts-ignore
    'decant-converter': HTMLAttributes<DecantConverterElement> & DecantConverterProps & DecantConverterListeners;
  }
}
// @ts-ignore
declare module 'vue' {
  interface GlobalComponents {
    // biome-ignore format: what is ignored is one line
    // @ts-ignore
    'decant-converter': new () => { $props: import('vue').HTMLAttributes & import('vue').ReservedProps & DecantConverterProps & DecantConverterVueListeners };
  }
}
