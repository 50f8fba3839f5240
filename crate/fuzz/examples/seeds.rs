//! Writes the valid images, as initial inputs, to the given folder.

fn main() {
    let folder = std::path::PathBuf::from(std::env::args_os().nth(1).expect("a folder"));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    for number in 0..decant_fuzz::bases::BASES {
        let image = decant_fuzz::bases::base(number).image;
        std::fs::write(folder.join(format!("base-{number}")), &*image).expect("the folder can be written");
    }
}
