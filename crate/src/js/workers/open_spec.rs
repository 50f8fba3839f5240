//! Reads the parameters that JavaScript passes to open an image.

use super::sources::{input, source};
use crate::container::blocks::InPlace;
use crate::disk::info::Capacity;
use crate::open::Input;
use crate::open::chain::{Companion, OpenOptions, StatedDisk, StatedParent};
use crate::open::disk_choice::DiskChoice;
use js_sys::Array;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// `{ source, format?, name?, file?, disk?, isChosen, companions, snapshot?, salvage, forceParent, checkManifest?, spool,
    /// unpack, stated? }`. `disk`: the name or the number of a disk.
    pub type OpenSpec;
    #[wasm_bindgen(method, getter)]
    fn source(this: &OpenSpec) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn format(this: &OpenSpec) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    fn name(this: &OpenSpec) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    fn file(this: &OpenSpec) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    fn disk(this: &OpenSpec) -> JsValue;
    #[wasm_bindgen(method, getter, js_name = isChosen)]
    fn is_chosen(this: &OpenSpec) -> bool;
    #[wasm_bindgen(method, getter)]
    fn companions(this: &OpenSpec) -> Array;
    #[wasm_bindgen(method, getter)]
    fn snapshot(this: &OpenSpec) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    fn salvage(this: &OpenSpec) -> bool;
    #[wasm_bindgen(method, getter, js_name = forceParent)]
    fn force_parent(this: &OpenSpec) -> bool;
    #[wasm_bindgen(method, getter, js_name = checkManifest)]
    fn check_manifest(this: &OpenSpec) -> Option<bool>;
    #[wasm_bindgen(method, getter)]
    fn spool(this: &OpenSpec) -> bool;
    #[wasm_bindgen(method, getter)]
    fn unpack(this: &OpenSpec) -> bool;
    #[wasm_bindgen(method, getter)]
    fn containers(this: &OpenSpec) -> Option<usize>;
    #[wasm_bindgen(method, getter)]
    fn stated(this: &OpenSpec) -> Option<StatedSpec>;

    /// `{ parents, isRaw, capacity? }`: a serialized [`StatedDisk`].
    type StatedSpec;
    #[wasm_bindgen(method, getter, js_name = parents)]
    fn stated_parents(this: &StatedSpec) -> Array;
    #[wasm_bindgen(method, getter, js_name = isRaw)]
    fn stated_is_raw(this: &StatedSpec) -> bool;
    #[wasm_bindgen(method, getter, js_name = capacity)]
    fn stated_capacity(this: &StatedSpec) -> Option<CapacitySpec>;

    /// `{ name, isRaw }`: a serialized [`StatedParent`].
    type ParentSpec;
    #[wasm_bindgen(method, getter, js_name = name)]
    fn parent_name(this: &ParentSpec) -> String;
    #[wasm_bindgen(method, getter, js_name = isRaw)]
    fn parent_is_raw(this: &ParentSpec) -> bool;

    /// `{ size, unit }`, in bytes.
    type CapacitySpec;
    #[wasm_bindgen(method, getter, js_name = size)]
    fn capacity_size(this: &CapacitySpec) -> f64;
    #[wasm_bindgen(method, getter, js_name = unit)]
    fn capacity_unit(this: &CapacitySpec) -> f64;

    /// `{ source, name, standsFor?, isImage }`.
    type CompanionSpec;
    #[wasm_bindgen(method, getter, js_name = source)]
    fn companion_source(this: &CompanionSpec) -> JsValue;
    #[wasm_bindgen(method, getter, js_name = name)]
    fn companion_name(this: &CompanionSpec) -> String;
    #[wasm_bindgen(method, getter, js_name = standsFor)]
    fn stands_for(this: &CompanionSpec) -> Option<String>;
    #[wasm_bindgen(method, getter, js_name = isImage)]
    fn is_image(this: &CompanionSpec) -> bool;
}

impl StatedSpec {
    fn read(&self) -> StatedDisk {
        let capacity = |capacity: CapacitySpec| Capacity {
            size: capacity.capacity_size() as u64,
            unit: capacity.capacity_unit() as u64,
        };
        let parent = |spec: JsValue| {
            let spec: ParentSpec = spec.unchecked_into();
            StatedParent { name: spec.parent_name(), is_raw: spec.parent_is_raw() }
        };
        StatedDisk {
            parents: self.stated_parents().iter().map(parent).collect(),
            is_raw: self.stated_is_raw(),
            capacity: self.stated_capacity().map(capacity),
        }
    }
}

impl OpenSpec {
    /// Converts the parameters to the image's input and options. `in_place` decodes compressed files that are read at any position.
    pub(super) fn read(&self, in_place: InPlace) -> (Input, OpenOptions) {
        let companion = |spec: JsValue| {
            let spec: CompanionSpec = spec.unchecked_into();
            Companion {
                source: source(spec.companion_source()),
                name: spec.companion_name(),
                stands_for: spec.stands_for(),
                is_image: spec.is_image(),
            }
        };
        let disk = self.disk();
        let number = disk.as_f64().map(|number| DiskChoice::Number(number as u64));
        let options = OpenOptions {
            format: self.format(),
            name: self.name(),
            file: self.file(),
            disk: number.or_else(|| disk.as_string().map(DiskChoice::Name)),
            is_chosen: self.is_chosen(),
            companions: self.companions().iter().map(companion).collect(),
            snapshot: self.snapshot(),
            salvage: self.salvage(),
            force_parent: self.force_parent(),
            check_manifest: self.check_manifest(),
            spool: self.spool(),
            unpack: self.unpack(),
            containers: self.containers(),
            stated: self.stated().map_or_else(StatedDisk::default, |stated| stated.read()),
            in_place: Some(in_place),
        };
        (input(self.source()), options)
    }
}
