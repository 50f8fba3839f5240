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

// If a program lacks a framework, its module and types are missing, which must not be an error in the program.
// @ts-ignore
declare module 'react' {
  namespace JSX {
    interface IntrinsicElements {
      // @ts-ignore
      'decant-converter': DetailedHTMLProps<HTMLAttributes<DecantConverterElement>, DecantConverterElement> &
        DecantConverterProps;
    }
  }
}
// @ts-ignore
declare module 'preact' {
  namespace JSX {
    interface IntrinsicElements {
      // biome-ignore format: what is ignored is one line
      // @ts-ignore
      'decant-converter': Omit<ComponentProps<'div'>, 'ref'> & ClassAttributes<DecantConverterElement> & DecantConverterProps;
    }
  }
}
// @ts-ignore
declare module 'solid-js/jsx-runtime' {
  namespace JSX {
    interface IntrinsicElements {
      // @ts-ignore
      'decant-converter': HTMLAttributes<DecantConverterElement> & DecantConverterProps;
    }
  }
}
// @ts-ignore
declare module 'vue' {
  interface GlobalComponents {
    // biome-ignore format: what is ignored is one line
    // @ts-ignore
    'decant-converter': new () => { $props: import('vue').HTMLAttributes & import('vue').ReservedProps & DecantConverterProps };
  }
}
